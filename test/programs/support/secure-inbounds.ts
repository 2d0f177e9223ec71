import { freedom } from '../../support/process/config.ts';
import { certificate, type CertificateFiles } from '../../support/ways/certificate.ts';
import { ID, PASSWORD } from '../../support/ways/secrets.ts';

const SETTINGS = {
  trojan: `users = [{ password = "${PASSWORD}" }]`,
  vless: `users = [{ id = "${ID}" }]`,
  vmess: `users = [{ id = "${ID}" }]`,
  http: `accounts = [{ user = "user", pass = "${PASSWORD}" }]`,
} as const;

export type SecureProtocol = keyof typeof SETTINGS;
export const SECURE_PROTOCOLS = Object.keys(SETTINGS) as SecureProtocol[];

/** A configuration with an inbound for each protocol over TLS, tagged by its name, and one over WebSocket. */
export function secureConfig({ certFile, keyFile }: CertificateFiles = certificate()): string {
  const tls = `tls = { cert_file = "${certFile}", key_file = "${keyFile}" }`;
  const inbound = (tag: string, protocol: SecureProtocol, stream: string): string =>
    `[[inbound]]\ntag = "${tag}"\nprotocol = "${protocol}"\nport = 0\n` +
    `[inbound.stream]\n${stream}\n${tls}\n[inbound.settings]\n${SETTINGS[protocol]}\n`;
  return [
    ...SECURE_PROTOCOLS.map((name) => inbound(name, name, 'network = "tls"')),
    inbound('ws', 'trojan', 'network = "ws"\nsecurity = "tls"\nws = { path = "/tunnel" }'),
    freedom(),
  ].join('\n');
}
