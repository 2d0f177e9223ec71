import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { portOf } from '../../test/support/data/address.ts';
import { Child } from '../../test/support/process/child.ts';
import { freedom, socksIn } from '../../test/support/process/config.ts';
import { Weir } from '../../test/support/process/weir.ts';
import { Generator } from '../load/generator.ts';
import type { LoadName } from '../load/messages.ts';
import { median } from '../statistics.ts';
import { Networks, run } from '../tun/networks.ts';
import { FAR_ADDRESS, type Path } from './messages.ts';

const USAGE = `Usage: node bench/path/tcp.ts [options]

Rates of TCP over a long path, in Gbit/s: SOCKS in, direct out, the origin at the other end of a delay and a
bottleneck; and the same without Weir. As root.

  --round-trip MS   (default 100)
  --rate GBIT       of the bottleneck (default 1)
  --queue MB        before the bottleneck (default 16)
  --parallel N      connections (default 1)
  --seconds N       (default 10)
  --rounds N        (default 3)
`;

const { values } = parseArgs({
  options: {
    'round-trip': { type: 'string', default: '100' },
    rate: { type: 'string', default: '1' },
    queue: { type: 'string', default: '16' },
    parallel: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '3' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (values.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}
const GBIT = 1e9 / 8;
const path: Path = {
  roundTrip: Number(values['round-trip']),
  loss: 0,
  rate: Number(values.rate) * GBIT,
  queue: Number(values.queue) * 1e6,
};
const LINE = fileURLToPath(new URL('./tcp-line.ts', import.meta.url));

await using networks = await Networks.make();
// A sender keeps what is under way: its usual 4 MB would be the limit, and not the receiver's window.
for (const side of [networks.near, networks.far])
  run(side, 'sysctl -qw net.ipv4.tcp_wmem=4096\t65536\t67108864');
await using line = new Child(
  process.execPath,
  [LINE, String(networks.farPid), JSON.stringify(path)],
  {
    ipc: true,
    prefix: networks.near,
  },
);
await line.until('the path', ({ stdout }) => stdout.includes('ready') || undefined);
await using origin = new Generator(['origin', FAR_ADDRESS], networks.far);
const port = await origin.ready();

async function measure(load: LoadName, through: 'direct' | 'weir'): Promise<number> {
  await using weir = await Weir.start(socksIn() + freedom(), { prefix: networks.near });
  const proxy = { host: '127.0.0.1', port: portOf(weir.address('socks')) };
  await using generator = new Generator([], networks.near);
  await generator.ready();
  const target = { host: FAR_ADDRESS, port };
  const discarded = await origin.discarded();
  const seconds = Number(values.seconds);
  const figures = await generator.run(
    {
      load,
      via: through === 'weir' ? { ...proxy, target } : target,
      parallel: Number(values.parallel),
      seconds,
    },
    () => undefined,
  );
  const sent = (await origin.discarded()) - discarded;
  // An upload is what the other process has read, in the second of the warm-up too.
  return (load === 'upload' ? sent / (seconds + 1) : (figures['rate'] ?? 0)) / GBIT;
}

for (const load of ['download', 'upload'] as const) {
  const rates = { direct: [] as number[], weir: [] as number[] };
  for (let round = 0; round < Number(values.rounds); round++)
    for (const through of ['direct', 'weir'] as const)
      rates[through].push(await measure(load, through));
  const [direct, weir] = [median(rates.direct), median(rates.weir)];
  console.log(
    `${load}: direct ${direct.toFixed(2)}, Weir ${weir.toFixed(2)} Gbit/s, ratio ${(weir / direct).toFixed(2)}`,
  );
}
