/**
 * What an idle Hysteria 2 connection holds at the server: the growth of its heap, of what lies outside
 * of the heap and of its resident memory with so many clients on sockets of the kernel, each of which
 * has carried a stream.
 *
 *     node packages/server/bench/hysteria2-sessions.ts [1000]
 */
import { RunningWeir } from '../../../test/soak/running-weir.ts';
import { connectionsOf, sampleOf, type Sample } from '../../../test/soak/sample.ts';
import { sampleAtRest } from '../../../test/stress/before-and-after.ts';
import { freedom } from '../../../test/support/process/config.ts';
import { API } from '../../../test/support/process/control.ts';
import {
  exchange,
  Hysteria2Clients,
  openEcho,
} from '../../../test/support/peers/hysteria2-clients.ts';
import { echoServer } from '../../../test/support/peers/servers.ts';
import { eventually } from '../../../test/support/wait.ts';
import { PASSWORD } from '../../../test/support/ways/secrets.ts';
import { weirIn } from '../../../test/support/ways/weir-config.ts';

const COUNT = Number(process.argv[2] ?? 1000);
/** What a server allocates once is not memory of a connection. */
const WARM = 50;
const AT_ONCE = 16;
/** Less than the 30 s after which a silent connection ends; a client's PING keeps it. */
const PATIENCE_MS = 25_000;

const config = API + weirIn({ protocol: 'hysteria2' }, { tag: 'hy' }) + freedom();
await using weir = await RunningWeir.start('server', config);
await using echo = await echoServer();
using clients = new Hysteria2Clients(weir.address('hy'), PASSWORD);

type Client = ReturnType<Hysteria2Clients['create']>;

async function open(count: number): Promise<readonly Client[]> {
  const made = Array.from({ length: count }, () => clients.create());
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let client = made[next++]; client; client = made[next++]) {
      const link = await openEcho(client, echo);
      await exchange(link, 1000);
      await link.closeWrite();
      await link.read();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return made;
}

/** With so many sessions and no flow. */
const sampleWith = async (count: number): Promise<Sample> => {
  await eventually(
    `${count} sessions without a flow`,
    async () => {
      const { sessions, flows } = await connectionsOf(weir);
      return sessions.length === count && flows.length === 0;
    },
    PATIENCE_MS,
  );
  return sampleOf(weir);
};

const warm = await open(WARM);
const before = await sampleWith(WARM);
const made = await open(COUNT);
const after = await sampleWith(WARM + COUNT);
for (const quantity of ['heap', 'external', 'resident'] as const) {
  const each = (after[quantity] - before[quantity]) / COUNT / 1024;
  console.log(`${quantity.padEnd(10)}${each.toFixed(1).padStart(8)} KB a connection`);
}
const timers = (after.timers - before.timers) / COUNT;
const sockets = after.descriptors - before.descriptors;
console.log(`timers    ${timers.toFixed(2).padStart(8)} a connection; ${sockets} descriptors more`);
for (const client of [...warm, ...made]) client.close();
await sampleWith(0);
const end = await sampleAtRest(weir);
const left = (end.heap + end.external - before.heap - before.external) / 1024;
console.log(`left after their end: ${left.toFixed(0)} KB of heap and outside`);
