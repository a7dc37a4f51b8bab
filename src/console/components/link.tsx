/**
 * Links that change the URL without a page load. They are `a` elements, so that browsers can open them in a new tab.
 */
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
