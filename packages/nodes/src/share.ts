/** Users of an inbound, for other programs. */
export { configServers, unknownName } from './share/config-servers.ts';
export {
  adviceOn,
  examineCertificate,
  isLocal,
  type ShareOptions,
  shareOptions,
} from './share/inbound-servers.ts';
export { clashDocument, draftOf, shareLink } from './share/forms.ts';
export {
  type Formed,
  inForm,
  objectsOf,
  type Shared,
  type ShareForm,
  textsOf,
} from './share/formed.ts';
export { qrForTerminal, qrModules, qrSvg } from './share/qr.ts';
