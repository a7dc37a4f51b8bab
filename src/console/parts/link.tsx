/** Links of the console: they change the address without loading the page, and are links to everybody else. */
import { Anchor, type AnchorProps, Button, type ButtonProps } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'

/** @param href below /console */
export function LinkButton({ href, ...props }: ButtonProps & { href: string; children: ReactNode }) {
  return <Button component={Link} href={href} {...props} />
}

export function TextLink({ href, ...props }: AnchorProps & { href: string; children: ReactNode }) {
  return <Anchor component={Link} href={href} {...props} />
}
