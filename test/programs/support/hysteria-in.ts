import { certificate } from '../../support/ways/certificate.ts';
import { PASSWORD } from '../../support/ways/secrets.ts';

/** A Hysteria 2 inbound with the tag `hy`. */
export function hysteriaIn(): string {
  const { certFile, keyFile } = certificate();
  return (
    `[[inbound]]\ntag = "hy"\nprotocol = "hysteria2"\nport = 0\n[inbound.settings]\n` +
    `cert_file = "${certFile}"\nkey_file = "${keyFile}"\npassword = "${PASSWORD}"\n`
  );
}
