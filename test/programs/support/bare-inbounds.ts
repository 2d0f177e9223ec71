import { freedom } from '../../support/process/config.ts';
import { ID, PASSWORD } from '../../support/ways/secrets.ts';

/** Protocols without TLS that an unauthenticated client gets no response from. */
export const SILENT_SETTINGS = {
  trojan: `users = [{ password = "${PASSWORD}" }]`,
  vless: `users = [{ id = "${ID}" }]`,
  vmess: `users = [{ id = "${ID}" }]`,
  shadowsocks: `method = "aes-128-gcm"\npassword = "${PASSWORD}"`,
} as const;

export type SilentProtocol = keyof typeof SILENT_SETTINGS;
export const SILENT_PROTOCOLS = Object.keys(SILENT_SETTINGS) as SilentProtocol[];

/** A configuration with an inbound for each, tagged by its name, and `more`. */
export const silentConfig = (more = ''): string =>
  [
    ...SILENT_PROTOCOLS.map(
      (name) =>
        `[[inbound]]\ntag = "${name}"\nprotocol = "${name}"\nport = 0\n` +
        `[inbound.settings]\n${SILENT_SETTINGS[name]}\n`,
    ),
    more,
    freedom(),
  ].join('\n');
