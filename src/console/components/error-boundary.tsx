import { Component, type ReactNode } from 'react'
import { EmptyState } from './states'

interface State {
  hasError: boolean
}

/** Limits a rendering error to one page. The usual cause is an update that removed the files of the loaded version. */
export class ErrorBoundary extends Component<{ children: ReactNode }, State> {
  override state: State = { hasError: false }

  static getDerivedStateFromError(): State {
    return { hasError: true }
  }

  override render() {
    if (!this.state.hasError) return this.props.children
    return (
      <EmptyState icon="warning" title="Something went wrong" action="Reload" onAction={() => location.reload()}>
        Gatehouse may have been updated. Reload the page to get the current version.
      </EmptyState>
    )
  }
}
