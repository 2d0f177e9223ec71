/** Names to addresses, by the servers of a configuration. */
export type { DnsAnswer, DnsService } from './dns/backend.ts';
export type { OwnedResolver } from './dns/cached-resolver.ts';
export { createResolver, loadExchange } from './dns/create-resolver.ts';
export type { RawQuestion } from './dns/message.ts';
export type { AddressRecordType } from './dns/policy.ts';
