/**
 * What a reload of a large configuration costs: the time until it is applied, and how long it holds
 * up traffic meanwhile.
 *
 *     node bench/micro/reload.ts
 *
 * A real process reloads while one flow plays ping-pong through it: the longest round trip is what a
 * user would feel, the longest delay of the event loop what caused it. The same in a quiet process
 * is the baseline.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freedom, socksIn } from '../../test/support/config.ts';
import { API, Control } from '../../test/support/control.ts';
import { encodeGeosite } from '../../test/support/geo-fixture.ts';
import { residentBytes } from '../../test/support/proc.ts';
import { roundTrip } from '../../test/support/read.ts';
import { echoServer } from '../../test/support/servers.ts';
import { socksConnect } from '../../test/support/socks-client.ts';
import { Weir } from '../../test/support/weir.ts';

const OUTBOUNDS = 1_000;
const RULES = 10_000;
const DOMAINS = 1_000_000;

const LOOP_DELAY = fileURLToPath(new URL('../loop-delay.ts', import.meta.url));

const SMALL = API + socksIn('socks', 'sniffing = false') + freedom();

function large(geosite: string, { lastRule = 'one', lastPort = 1 } = {}): string {
  const parts = [API, socksIn('socks', 'sniffing = false'), freedom()];
  for (let i = 0; i < OUTBOUNDS; i++) {
    const port = i === OUTBOUNDS - 1 ? lastPort : 1;
    parts.push(
      `[[outbound]]\ntag = "out${i}"\nprotocol = "socks"\nserver = "127.0.0.1"\nport = ${port}\n\n`,
    );
  }
  parts.push(`[route]\ndefault = "direct"\ngeosite = ${JSON.stringify(geosite)}\n\n`);
  parts.push('[[route.rule]]\noutbound = "out0"\ngeosite = ["large"]\n\n');
  for (let i = 0; i < RULES; i++) {
    const name = i === RULES - 1 ? lastRule : `rule${i}`;
    parts.push(
      `[[route.rule]]\noutbound = "out${i % OUTBOUNDS}"\n` +
        `domain_suffix = ["${name}.example", "www.${name}.test", "${name}.invalid"]\nport = ["443", "8000-8999"]\n\n`,
    );
  }
  return parts.join('');
}

const geositeFile = (): Buffer =>
  encodeGeosite([
    {
      code: 'LARGE',
      domains: Array.from({ length: DOMAINS }, (_, i) => ({
        type: 'root' as const,
        value: `name${(i * 7919) % DOMAINS}-${i}.${i % 3 === 0 ? 'com' : 'co.example'}`,
      })),
    },
  ]);

interface Row {
  readonly 'ms until applied': string;
  readonly 'longest loop delay ms': string;
  readonly 'longest round trip ms': string;
  readonly 'resident MB': string;
}

await using origin = await echoServer();
await using weir = await Weir.start(SMALL, { nodeArgs: ['--import', LOOP_DELAY] });
const control = await Control.of(weir);
const geosite = join(weir.folder, 'geosite.dat');
await writeFile(geosite, geositeFile());

const socket = await socksConnect(weir.address('socks'), origin.target);
let longest = 0;
let playing = true;
const game = (async (): Promise<void> => {
  while (playing) {
    const sent = performance.now();
    await roundTrip(socket, 'ping');
    longest = Math.max(longest, performance.now() - sent);
    // A pause, so that this process has time for other things; it is not in the figures.
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
})();

let asked = 0;
/** The longest delay of the other process's event loop since the last time. */
async function loopDelay(): Promise<string> {
  weir.child.signal('SIGUSR2');
  asked++;
  return weir.child.until('its loop delay', ({ stderr }) => {
    const found = [...stderr.matchAll(/loop-delay .*max=(\S+)/g)];
    return found[asked - 1]?.[1];
  });
}

async function measure(work: () => Promise<unknown>): Promise<Row> {
  await loopDelay();
  longest = 0;
  const started = performance.now();
  await work();
  const took = performance.now() - started;
  // What was in flight when the reload ended belongs to it.
  await new Promise((resolve) => setTimeout(resolve, 50));
  return {
    'ms until applied': took.toFixed(0),
    'longest loop delay ms': Number(await loopDelay()).toFixed(1),
    'longest round trip ms': longest.toFixed(1),
    'resident MB': (residentBytes(weir.pid) / 1e6).toFixed(0),
  };
}

const rows: Record<string, Row> = {};
const apply = async (name: string, config: string): Promise<void> => {
  await control.write(config);
  rows[name] = await measure(() => control.api.json('POST', '/v1/reload'));
};

rows['nothing for a second'] = await measure(() => new Promise((go) => setTimeout(go, 1000)));
await apply('small: one outbound more', SMALL + freedom('more'));
await apply('from small to large', large(geosite));
await apply('large: a rule changed', large(geosite, { lastRule: 'other' }));
await apply('large: an outbound changed', large(geosite, { lastRule: 'other', lastPort: 2 }));
rows['large: files unchanged'] = await measure(() => control.post());
await apply('large: a rule changed, again', large(geosite, { lastRule: 'third', lastPort: 2 }));
rows['large: GET /v1/routes'] = await measure(() => control.api.json('GET', '/v1/routes'));
rows['large: PUT of a pick'] = await measure(() => control.api.pick('default', 'out1'));
await apply('from large to small', SMALL);
playing = false;
await game;
socket.destroy();

const title = [OUTBOUNDS, RULES, DOMAINS].map((count) => count.toLocaleString('en'));
console.log(`large: ${title[0]} outbounds, ${title[1]} rules, ${title[2]} geosite domains`);
console.table(rows);
