import type { RefusedCertificate } from '@weir/nodes/share';
import { formsOf } from '@weir/proxy/protocols';
import type { ShareForm } from './specs.ts';

/** Describes what clients do with a certificate that they would reject. */
export function adviceOn(
  { reason, canBePinned, canBeTrusted }: RefusedCertificate,
  { form, insecure }: { readonly form: ShareForm; readonly insecure: boolean },
  protocol: string,
): string {
  // Xray has no such option, and compares the hash.
  if (insecure && !(form === 'xray' && canBePinned)) {
    return `${reason}, so clients accept any: anyone on the path can read the traffic`;
  }
  const without = form === 'link' ? formsOf(protocol)?.link?.unpinned : '';
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
