/** Users of an inbound, for other programs. */
export { examineCertificate } from './share/certificate.ts';
export {
  clashDocument,
  clashProxy,
  draftOf,
  shareLink,
  singBoxOutbound,
  xrayOutbound,
} from './share/forms.ts';
export {
  type InboundServer,
  inboundServers,
  isLocal,
  type RefusedCertificate,
  type ShareOptions,
} from './share/inbound-servers.ts';
