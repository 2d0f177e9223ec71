import type { Case, Setting } from './case.ts';
import { withoutNetworks } from './tun/networks.ts';
import { withoutWireGuardPeer } from './wireguard/peer.ts';

/** What each setting is called, and why this machine lacks it; `false` when it does not. */
export type Settings = Readonly<
  Record<Setting, { readonly title: string; readonly lack: () => string | false }>
>;

const SETTINGS: Settings = {
  tun: { title: 'a TUN device', lack: withoutNetworks },
  wireguard: { title: 'WireGuard', lack: withoutWireGuardPeer },
};

/**
 * The cases that this machine can measure, and a line for each setting whose cases are left out.
 *
 * @param settings only examined for cases that need them.
 */
export function possible(
  cases: readonly Case[],
  settings: Settings = SETTINGS,
): { readonly cases: readonly Case[]; readonly notes: readonly string[] } {
  const needed = new Set(cases.flatMap(({ setting }) => setting ?? []));
  const missing = new Set<Setting>();
  const notes: string[] = [];
  for (const setting of needed) {
    const { title, lack } = settings[setting];
    const reason = lack();
    if (reason === false) continue;
    missing.add(setting);
    notes.push(`the cases of ${title} are left out: ${reason}`);
  }
  return {
    cases: cases.filter(({ setting }) => setting === undefined || !missing.has(setting)),
    notes,
  };
}
