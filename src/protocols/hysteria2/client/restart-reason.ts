import type { Hysteria2InboundSettings } from '../settings.ts';

/**
 * Why a server's settings cannot be swapped under live clients: every datagram of the port passes
 * through one obfuscation, which their clients would not follow.
 */
export function restartReason(
  before: Hysteria2InboundSettings,
  after: Hysteria2InboundSettings,
): string | undefined {
  if (before.obfuscation === after.obfuscation) return undefined;
  const isSwitched = (before.obfuscation === undefined) !== (after.obfuscation === undefined);
  return isSwitched ? 'obfs changed' : 'obfs_password changed';
}
