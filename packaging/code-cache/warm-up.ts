import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAddress, type Address } from '../../test/support/data/address.ts';
import { echoServer } from '../../test/support/peers/servers.ts';
import { socksConnect } from '../../test/support/peers/socks-client.ts';
import { Child } from '../../test/support/process/child.ts';
import { freedom, rule, socksIn } from '../../test/support/process/config.ts';
import { roundTrip } from '../../test/support/read.ts';
import { within } from '../../test/support/wait.ts';
import { weirIn, weirOut } from '../../test/support/ways/weir-config.ts';
import { EVERY_KIND } from '../../test/support/ways/way.ts';

export interface WarmUpOptions {
  /** What runs that Node on this machine: a program with its arguments, or nothing. */
  readonly prefix: readonly string[];
  /** The Node of the executable. */
  readonly node: string;
  /** V8 accepts a cache under the options alone under which it was made. */
  readonly execArgv: readonly string[];
  /** warm-main.js. */
  readonly main: string;
  /** The files of the executable, by name. */
  readonly assets: Readonly<Record<string, string>>;
  /** Where the caches go, each under the name of its chunk. */
  readonly folder: string;
}

/**
 * Makes code caches of the chunks, with the functions that have run when there has been a flow through every
 * protocol and a reload: the first connections of a process compile nothing either.
 */
export async function makeCodeCaches(options: WarmUpOptions): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'weir-warm-up-'));
  try {
    await mkdir(options.folder, { recursive: true });
    await runAll(options, work);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function runAll(
  { prefix, node, execArgv, main, assets, folder }: WarmUpOptions,
  work: string,
): Promise<void> {
  const names = join(work, 'assets.json');
  await writeFile(names, JSON.stringify(assets));
  const config = join(work, 'weir.toml');
  const inbounds = EVERY_KIND.map(
    (way, i) => socksIn(`socks${i}`) + weirIn(way, { tag: `in${i}` }),
  );
  await writeFile(config, [socksIn('plain'), ...inbounds, freedom()].join('\n'));
  await using origin = await echoServer();
  await using child = new Child(node, [...execArgv, main, names, folder, '--config', config], {
    prefix,
  });
  const count = 1 + 2 * EVERY_KIND.length;
  const addresses = await child.until('inbounds listening', ({ stderr }) => {
    const found = new Map<string, Address>();
    for (const [, tag = '', text = ''] of stderr.matchAll(/inbound (\S+) listening on (\S+)$/gm)) {
      found.set(tag, parseAddress(text));
    }
    return found.size === count ? found : undefined;
  });
  const at = (tag: string): Address => {
    const address = addresses.get(tag);
    if (address === undefined) throw new Error(`no inbound ${tag}`);
    return address;
  };
  const outbounds = EVERY_KIND.map(
    (way, i) =>
      weirOut(way, at(`in${i}`), { tag: `out${i}` }) +
      rule(`out${i}`, `inbound_tag = ["socks${i}"]`),
  );
  await appendFile(config, `\n${outbounds.join('\n')}`);
  child.signal('SIGHUP');
  await child.until('the reload', ({ stderr }) => /config reloaded/.test(stderr) || undefined);
  for (const tag of ['plain', ...EVERY_KIND.map((_, i) => `socks${i}`)]) {
    const socket = await socksConnect(at(tag), origin.target);
    await roundTrip(socket, `hello ${tag}`);
    socket.destroy();
  }
  child.signal('SIGUSR2');
  const { code } = await within(child.exited, 'the end of the warm-up');
  if (code !== 0) throw new Error(`the warm-up has failed:\n${child.stderr}`);
}
