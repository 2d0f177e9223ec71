import type { RefusedCertificate } from '../../share/inbound-servers.ts';
import type { SharedAccess } from '../../share/shared-server.ts';
import type { ShareArguments } from './arguments.ts';

type Protocol = SharedAccess['protocol'];

const NO_PCS = '; one that does not know "pcs" refuses it';

/** Protocols whose links can pin a hash, with the behaviour of clients that do not support it. */
const PINS: Partial<Record<Protocol, string>> = {
  vless: NO_PCS,
  vmess: NO_PCS,
  trojan: NO_PCS,
  hysteria2:
    '; one that does not know "pinSHA256" accepts any, and anyone on the path can read its traffic',
};

/** Describes what clients do with a certificate that they would reject. */
export function adviceOn(
  { reason, canBePinned, canBeTrusted }: RefusedCertificate,
  { form, insecure }: Pick<ShareArguments, 'form' | 'insecure'>,
  protocol: Protocol,
): string {
  // Xray has no such option, and compares the hash.
  if (insecure && !(form === 'xray' && canBePinned)) {
    return `${reason}, so clients accept any: anyone on the path can read the traffic`;
  }
  const without = form === 'link' ? PINS[protocol] : '';
  const isPinned = form === 'link' || form === 'xray' || form === 'clash';
  if (isPinned && canBePinned && without !== undefined) {
    return `${reason}, so clients are given its hash to compare, until it is renewed${without}`;
  }
  if (!isPinned && canBeTrusted) {
    return `${reason}, so clients are given this one to trust, until it is renewed`;
  }
  const others = canBePinned ? ', use --form xray or clash, which have its hash' : '';
  return `${reason}: clients refuse it. Get one of a public authority${others}, or accept any with --insecure`;
}
