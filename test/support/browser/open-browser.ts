import { chromium, type Browser } from 'playwright-core';
import { findPeer, findProgram, without } from '../programs/peers.ts';

/** Chromium without its windows where it is installed: the same pages for a quarter less processor time. */
const browserPath = (): string | undefined =>
  findProgram('chromium-headless-shell') ?? findPeer('chromium');

/** What a test's `skip` option takes. */
export const withoutBrowser = (): string | false =>
  browserPath() === undefined && without('chromium');

/** A name whose address is 127.0.0.1 for the browser of the tests. */
export const REBOUND = 'rebound.example';

/**
 * A browser that reaches 127.0.0.1 and nothing else: names do not resolve, and what it does on its own account is off.
 * One name has been rebound to this host.
 */
const FLAGS = [
  `--host-resolver-rules=MAP ${REBOUND} 127.0.0.1 , MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost`,
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-domain-reliability',
  '--disable-sync',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--no-proxy-server',
  // Chromium refuses to run as root with its sandbox.
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
];

/** Debian's Chromium without a window. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = browserPath();
  if (executablePath === undefined) throw new Error('chromium is not installed');
  return chromium.launch({ executablePath, args: FLAGS });
}
