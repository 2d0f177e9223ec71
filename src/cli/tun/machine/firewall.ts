import { execFile } from 'node:child_process';
import type { Unread } from '../check/facts.ts';
import { readRuleset, type FirewallFacts } from '../check/firewall.ts';
import { readText } from './read-text.ts';

const TIME_LIMIT_MS = 5000;
const MOST_OUTPUT = 16 << 20;

/** Reads the nftables rules through the program `nft`: the kernel provides them only to root, and piecemeal. */
export async function readFirewall(
  root: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly firewall: FirewallFacts | undefined; readonly unread: readonly Unread[] }> {
  const unread: Unread[] = [];
  const { text, reason } = await listRuleset(env);
  const firewall = text === undefined ? undefined : readRuleset(text);
  if (!firewall) {
    unread.push({ what: 'rules of the firewall (nft)', reason: reason ?? 'not a ruleset' });
  }
  const legacy = await readText(root, 'proc/net/ip_tables_names');
  if (legacy?.split('\n').includes('filter') === true) {
    const place = '/proc/net/ip_tables_names';
    unread.push({ what: 'rules of iptables-legacy', reason: `${place} names the table filter` });
  }
  return { firewall, unread };
}

/** Runs `nft` with fixed arguments; the usual directories of administration programs are appended to PATH. */
async function listRuleset(
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly text?: string; readonly reason?: string }> {
  const { promise, resolve } = Promise.withResolvers<{ text?: string; reason?: string }>();
  const options = {
    env: { PATH: `${env['PATH'] ?? ''}:/usr/sbin:/sbin`, LC_ALL: 'C' },
    timeout: TIME_LIMIT_MS,
    killSignal: 'SIGKILL',
    maxBuffer: MOST_OUTPUT,
  } as const;
  execFile('nft', ['-j', 'list', 'ruleset'], options, (error, stdout, stderr) => {
    if (!error) resolve({ text: stdout });
    else if (error.code === 'ENOENT') resolve({ reason: 'nft is not installed' });
    else resolve({ reason: stderr.split('\n', 1)[0] || error.message });
  });
  return promise;
}
