import { Child } from '../process/child.ts';
import { findPeer } from './peers.ts';
import { within } from '../wait.ts';
import { scratch } from '../process/weir.ts';

/** Flags that keep a headless browser to the page it was asked for. */
const QUIET = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
];

/**
 * Loads `url` in a fresh headless Chromium through `proxy` (`socks5://host:port`, `http://…`) and
 * returns the document once the page and its resources have loaded.
 */
export async function browse(
  url: string,
  proxy: string,
  flags: readonly string[] = [],
): Promise<string> {
  const path = findPeer('chromium');
  if (path === undefined) throw new Error('chromium is not installed');
  await using profile = await scratch();
  await using child = new Child(path, [
    ...QUIET,
    ...flags,
    `--user-data-dir=${profile.path}`,
    `--proxy-server=${proxy}`,
    // Chromium bypasses the proxy for loopback by default.
    '--proxy-bypass-list=<-loopback>',
    '--dump-dom',
    url,
  ]);
  const PATIENCE_MS = 60_000;
  await within(child.exited, () => `chromium's end: ${child.stderr.slice(-1000)}`, PATIENCE_MS);
  return child.stdout;
}
