/** Forms of servers and users in links and in files of other programs. */
export type {
  GeneratedServer,
  NewSecrets,
  ProtocolForms,
  UserEdit,
  UserForm,
} from './forms/contract.ts';
export {
  bareHost,
  type Draft,
  ImportError,
  type Settings,
  type SettingValue,
  type StreamDraft,
  streamOf,
  toPort,
  type Transport,
} from './forms/draft.ts';
export { ForeignObject, isEmpty, statedOf } from './forms/foreign-object.ts';
export { decodedName, looselyFromBase64, parsedJson } from './forms/link.ts';
export {
  draftedStream,
  draftedTls,
  type PinnedCertificate,
  type SharedAccess,
  type SharedCarrier,
  type SharedServer,
  type SharedTls,
  ShareError,
} from './forms/shared-server.ts';
