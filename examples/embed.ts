/**
 * A host program with Weir inside: it starts the proxy, shows its log and its flows, switches routes on
 * request, and stops.
 *
 *     node embed.ts weir.toml
 *
 * Lines on standard input: `routes`, `pick GROUP TARGET`, `reload`, `flows`, `close ID`, `stop`. The end
 * of the input stops it as well.
 */
import { createInterface } from 'node:readline';
import { ControlError, Weir } from 'weir-engine';

const [config = 'weir.toml'] = process.argv.slice(2);

const weir = await Weir.start({
  config,
  onLog: ({ level, message }) => console.error(`${level}: ${message}`),
});
console.log(`weir ${weir.version} is running`);

/** Shows flows as they open and close, until the proxy stops. */
async function showFlows(): Promise<void> {
  for await (const event of weir.flowEvents()) {
    if (event.event === 'lagged') console.log(`missed ${event.missed} events`);
    else console.log(`${event.event} ${event.flow.id} ${event.flow.host}:${event.flow.port}`);
  }
}

async function carryOut(command: string, words: readonly string[]): Promise<void> {
  const [first = '', second = ''] = words;
  switch (command) {
    case 'routes': {
      const { view } = await weir.routes();
      console.log(`default goes to ${view.default.target ?? 'nowhere'}`);
      for (const { name, target } of view.groups)
        console.log(`${name} goes to ${target ?? 'nowhere'}`);
      return;
    }
    case 'pick': {
      // Fails as stale when the file has changed since it was read.
      const { etag } = await weir.routes();
      const { report } = await weir.pick(first, second, { ifMatch: etag });
      console.log(`pick: ${report.status}`);
      return;
    }
    case 'reload':
      console.log(`reload: ${(await weir.reload()).status}`);
      return;
    case 'flows':
      console.log(`${weir.connections().flows.length} flows`);
      return;
    case 'close':
      console.log(weir.closeFlow(Number(first)) ? 'closed it' : 'no such flow');
      return;
    default:
      console.log(`unknown command ${command}`);
  }
}

const flowsShown = showFlows();
for await (const line of createInterface({ input: process.stdin })) {
  const [command = '', ...words] = line.split(' ');
  if (command === 'stop') break;
  try {
    await carryOut(command, words);
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    console.log(`${error.code}: ${error.message}`);
  }
}
process.stdin.destroy(); // a pipe that stays open would keep the process alive
await weir.stop({ graceMs: 1000 });
await flowsShown;
console.log('stopped');
