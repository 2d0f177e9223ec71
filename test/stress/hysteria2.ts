/**
 * Hysteria 2 connections opened and closed against one Weir: clients that say goodbye, probers, wrong
 * passwords, and clients that vanish; then one connection that lives through reloads while it carries
 * a transfer. At the end descriptors, memory and timers must be where they were.
 *
 * `npm run stress -- hysteria2`, with WEIR_STRESS_CONNECTIONS (10000) and WEIR_STRESS_RELOADS (100).
 * Exit status 1 when a client was not served as it should be or anything is left.
 */
import { RunningWeir } from '../soak/running-weir.ts';
import { connectionsOf, type Sample } from '../soak/sample.ts';
import { freedom } from '../support/process/config.ts';
import { API } from '../support/process/control.ts';
import {
  churn,
  exchangeDuring,
  Hysteria2Clients,
  type ChurnKind,
} from '../support/peers/hysteria2-clients.ts';
import { cpuSeconds } from '../support/process/proc.ts';
import { echoServer } from '../support/peers/servers.ts';
import { eventually } from '../support/wait.ts';
import { renewCertificate } from '../support/ways/certificate.ts';
import { PASSWORD } from '../support/ways/secrets.ts';
import { weirIn } from '../support/ways/weir-config.ts';
import { compare, sampleAtRest } from './before-and-after.ts';

const CONNECTIONS = Number(process.env['WEIR_STRESS_CONNECTIONS'] ?? 10_000);
const RELOADS = Number(process.env['WEIR_STRESS_RELOADS'] ?? 100);
const WARM_UP = 500;
const AT_ONCE = 32;
/** The server learns of a client that vanishes by a silence of 30 s. */
const PATIENCE_MS = 60_000;

const configuration = (more = ''): string =>
  API + weirIn({ protocol: 'hysteria2' }, { tag: 'hy' }) + more + freedom();

/** Of 100 connections. */
const kindOf = (i: number): ChurnKind => {
  switch (i % 100) {
    case 0:
      return 'a client that vanishes';
    case 10:
    case 60:
      return 'a wrong password';
    case 20:
    case 70:
      return 'a prober';
    default:
      return 'echo';
  }
};

await using weir = await RunningWeir.start('server', configuration());
await using echo = await echoServer();
const server = weir.address('hy');
using clients = new Hysteria2Clients(server, PASSWORD);

async function restOf(): Promise<Sample> {
  await eventually(
    'the end of all sessions',
    async () => (await connectionsOf(weir)).sessions.length === 0,
    PATIENCE_MS,
  );
  return sampleAtRest(weir);
}

await churn(WARM_UP, AT_ONCE, kindOf, clients, server, echo);
const before = await restOf();
const startedAt = performance.now();
const cpuBefore = cpuSeconds(weir.pid);
await churn(CONNECTIONS, AT_ONCE, kindOf, clients, server, echo);
const seconds = (performance.now() - startedAt) / 1000;
const cpu = cpuSeconds(weir.pid) - cpuBefore;
const rate = (CONNECTIONS / seconds).toFixed(0);
const each = ((cpu / CONNECTIONS) * 1000).toFixed(2);
console.log(
  `${CONNECTIONS} connections, ${rate} a second, ${each} ms of the server's processor each`,
);
const afterChurn = await restOf();
const churned = compare(before, afterChurn, CONNECTIONS);

const client = clients.create();
const bytes = await exchangeDuring(client, echo, async () => {
  for (let i = 1; i <= RELOADS; i++) {
    if (i % 10 === 0) renewCertificate();
    const masquerade = `[inbound.settings.masquerade]\nbody = "${i}"\n`;
    await weir.write(configuration(i % 2 === 0 ? '' : masquerade));
    await weir.api.json('POST', '/v1/reload');
  }
  const { sessions } = await connectionsOf(weir);
  if (sessions.length !== 1) throw new Error(`${sessions.length} sessions in place of one`);
});
client.close();
console.log(`One connection through ${weir.reloads} reloads, with ${bytes} bytes there and back`);
const afterReloads = await restOf();
const reloaded = compare(afterChurn, afterReloads, 1);

for (const line of weir.complaints) console.log(`LOGGED: ${line}`);
const clean = churned && reloaded && weir.reloads === RELOADS;
const ok = clean && weir.complaints.length === 0 && weir.alive;
console.log(ok ? 'Nothing is left.' : 'FAILED');
process.exitCode = ok ? 0 : 1;
