/** The dashboard: its server, its pages and the files of the page. */
export type { DashboardContext } from './dashboard/contract.ts';
export { loadPageFiles } from './dashboard/files/load-page-files.ts';
export { DashboardServer } from './dashboard/server/dashboard-server.ts';
export { SOURCES } from './dashboard/sources.ts';
