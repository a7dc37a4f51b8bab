import { Combobox, ScrollArea, UnstyledButton, useCombobox, VisuallyHidden } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { account, accounts } from 'documents/accounts'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { Icon } from '../components/icon'
import { accountHref, useConsoleContext } from '../console-context'
import { useQuery } from '../graphql/hooks'
import classes from './shell.module.css'

/** Shows the current account and switches to another one. */
export function AccountSwitcher() {
  const { accountId } = useConsoleContext()
  const [, navigate] = useLocation()
  const [search, setSearch] = useState('')
  const [debouncedSearch] = useDebouncedValue(search.trim(), 200)
  const [cursor, setCursor] = useState<string>()
  const { data, loading } = useQuery(
    accounts,
    { limit: 20, cursor, search: debouncedSearch || null },
    { typename: 'Account' },
  )
  const currentAccount = useQuery(account, { accountId }, { pause: accountId === '', cacheFirst: true })
  const combobox = useCombobox({
    onDropdownClose: () => {
      combobox.resetSelectedOption()
      setSearch('')
      setCursor(undefined)
    },
    onDropdownOpen: () => combobox.focusSearchInput(),
  })
  const found = data?.accounts.data ?? []
  const name = currentAccount.data?.account.name ?? 'Account'
  const next = data?.accounts.hasMore ? data.accounts.nextCursor : undefined

  const selectAccount = (id: string) => {
    if (id === 'more') {
      setCursor(next ?? undefined)
      return
    }
    navigate(accountHref(id))
    combobox.closeDropdown()
  }
  return (
    <Combobox
      store={combobox}
      width={300}
      position="bottom-start"
      shadow="md"
      radius="md"
      onOptionSubmit={selectAccount}
    >
      <Combobox.Target targetType="button">
        <UnstyledButton className={classes.pill} onClick={() => combobox.toggleDropdown()}>
          <span className={classes.letter} aria-hidden="true">
            {name.charAt(0).toUpperCase()}
          </span>
          <span>
            <span className={classes.strong}>{name}</span>
            <span className={classes.weak}>
              Account<VisuallyHidden>: switch</VisuallyHidden>
            </span>
          </span>
          <Icon name="switch" />
        </UnstyledButton>
      </Combobox.Target>
      <Combobox.Dropdown>
        <Combobox.Search
          value={search}
          onChange={(event) => {
            setSearch(event.currentTarget.value)
            setCursor(undefined)
          }}
          placeholder="Find an account"
          aria-label="Find an account"
        />
        <Combobox.Options aria-label="Accounts">
          <ScrollArea.Autosize mah={320} type="scroll">
            {found.map(({ id, name: accountName }) => (
              <Combobox.Option key={id} value={id} active={id === accountId}>
                {accountName ?? id}
              </Combobox.Option>
            ))}
            {found.length === 0 && <Combobox.Empty>{loading ? 'Searching…' : 'No results'}</Combobox.Empty>}
            {next && <Combobox.Option value="more">More accounts …</Combobox.Option>}
          </ScrollArea.Autosize>
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  )
}
