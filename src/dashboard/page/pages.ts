import type { ComponentType } from 'preact';
import { ConfigPage } from './config/config-page.ts';
import { ConnectionsPage } from './connections/connections-page.ts';
import { LogPage } from './log/log-page.ts';
import { NodesPage } from './nodes/nodes-page.ts';
import { NowPage } from './now/now-page.ts';
import { RoutesPage } from './routes/routes-page.ts';
import { RulesPage } from './rules/rules-page.ts';
import { UsersPage } from './users/users-page.ts';

/** An entry of the navigation. */
export interface PageEntry {
  /** The page's part of the address: `#/NAME`. */
  readonly name: string;
  /** Shown in the navigation and as the heading of the page. */
  readonly title: string;
  /** The letter that opens the page after `g`. */
  readonly key: string;
  /**
   * The content of `main` below the heading. It gets its parameters from `place`, data by `useWatch`, and offers keys
   * and palette entries by `useCommands`. The shell shows the states that concern all pages above it.
   */
  readonly Page: ComponentType;
}

/** All pages in the order of the navigation; the first is shown for an empty address. */
export const PAGES: readonly PageEntry[] = [
  { name: 'now', title: 'Now', key: 'n', Page: NowPage },
  { name: 'connections', title: 'Connections', key: 'c', Page: ConnectionsPage },
  { name: 'routes', title: 'Routes', key: 'r', Page: RoutesPage },
  { name: 'nodes', title: 'Nodes', key: 'o', Page: NodesPage },
  { name: 'users', title: 'Users', key: 'u', Page: UsersPage },
  { name: 'rules', title: 'Rules', key: 'l', Page: RulesPage },
  { name: 'config', title: 'Config', key: 'f', Page: ConfigPage },
  { name: 'log', title: 'Log', key: 't', Page: LogPage },
];
