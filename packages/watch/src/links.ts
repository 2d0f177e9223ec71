/** Links of users: URLs from which clients get their servers. */
export { FileStamps } from './links/file-stamps.ts';
export { LinkUsers, type Reach, readConfigUsers } from './links/link-users.ts';
export { STANDARD_LISTEN, startLinksServer } from './links/links-server.ts';
export { RecordedUsage } from './links/recorded-usage.ts';
export { RunningQuotas } from './links/running-quotas.ts';
export { changeLinks, withToken, withUsers } from './links/token-file.ts';
