/** Users of an inbound, for other programs. */
export {
  adviceOn,
  examineCertificate,
  type InboundServer,
  inboundServers,
  isLocal,
  type ShareOptions,
} from './share/inbound-servers.ts';
export {
  clashDocument,
  clashProxy,
  draftOf,
  shareLink,
  singBoxOutbound,
  xrayOutbound,
} from './share/forms.ts';
