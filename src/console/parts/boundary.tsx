import { Component, type ReactNode } from 'react'
import { EmptyState } from './states'

interface State {
  broken: boolean
}

/** A page that breaks breaks alone. Usually a new version has been installed and its old files are gone. */
export class Boundary extends Component<{ children: ReactNode }, State> {
  override state: State = { broken: false }

  static getDerivedStateFromError(): State {
    return { broken: true }
  }

  override render() {
    if (!this.state.broken) return this.props.children
    return (
      <EmptyState icon="warning" title="This page broke" action="Reload" onAction={() => location.reload()}>
        Perhaps Gatehouse was updated meanwhile. Reloading brings the present version.
      </EmptyState>
    )
  }
}
