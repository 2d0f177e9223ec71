import { fileURLToPath } from 'node:url';
import { portOf } from '../data/address.ts';
import { Child } from '../process/child.ts';
import { freedom, rule, socksIn } from '../process/config.ts';
import { API, Control } from '../process/control.ts';
import { Weir, type WeirOptions } from '../process/weir.ts';
import { weirIn, weirOut } from '../ways/weir-config.ts';
import type { Way } from '../ways/way.ts';
import { within } from '../wait.ts';

export interface BusyOptions {
  /** Flows that are open at any time. */
  readonly flows: number;
  /** Flows that are opened, and as many closed, each second; each of them is open for two seconds. */
  readonly perSecond: number;
  /** Requests for some 10 KB each second, on flows that stay. */
  readonly busy: number;
  readonly weir?: WeirOptions;
}

/** What the process of the clients is asked to do. */
export interface ClientsJob {
  readonly held: number;
  readonly perSecond: number;
  readonly busy: number;
  /** Ports on 127.0.0.1: the SOCKS inbounds for flows that stay and for others, and the origin. */
  readonly tunnel: number;
  readonly socks: number;
  readonly origin: number;
}

export type ClientsReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly message: string }
  | ({ readonly kind: 'counts' } & FlowCounts);

export interface FlowCounts {
  /** Flows that have brought a byte. */
  readonly opened: number;
  /** Flows that were refused or ended by themselves. */
  readonly failed: number;
}

const TUNNEL: Way = { protocol: 'trojan', carrier: { network: 'grpc' } };
const LIFE_S = 2;
/** To open 10,000 flows on a busy machine. */
const PATIENCE_MS = 240_000;

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/**
 * A Weir with `[api]` and a control socket under a steady load. The flows that stay come over gRPC from another Weir,
 * since processes may have 20,000 descriptors on some machines and a flow by SOCKS takes two; the others come by SOCKS.
 */
export class BusyWeir implements AsyncDisposable {
  readonly weir: Weir;
  readonly control: Control;
  readonly #clients: Child;
  readonly #stack: AsyncDisposableStack;

  private constructor(weir: Weir, control: Control, clients: Child, stack: AsyncDisposableStack) {
    this.weir = weir;
    this.control = control;
    this.#clients = clients;
    this.#stack = stack;
  }

  /** Starts it and waits until the flows that stay are open. */
  static async start({ flows, perSecond, busy, weir: more }: BusyOptions): Promise<BusyWeir> {
    await using stack = new AsyncDisposableStack();
    const far = stack.use(new Child(process.execPath, [file('./far-main.ts')], { ipc: true }));
    const { port, dns } = await message<{ readonly port: number; readonly dns: number }>(far);
    const weir = stack.use(await Weir.start(serverConfig(dns), { control: true, ...more }));
    const control = await Control.of(weir);
    const front = stack.use(await Weir.start(socksIn() + weirOut(TUNNEL, weir.address('trojan'))));
    const clients = stack.use(
      new Child(process.execPath, [file('./clients-main.ts')], { ipc: true }),
    );
    const job: ClientsJob = {
      held: flows - LIFE_S * perSecond,
      perSecond,
      busy,
      tunnel: portOf(front.address('socks')),
      socks: portOf(weir.address('socks')),
      origin: port,
    };
    const ready = message<ClientsReport>(clients, PATIENCE_MS);
    clients.process.send(job);
    const report = await ready;
    if (report.kind === 'failed') throw new Error(`the clients: ${report.message}`);
    return new BusyWeir(weir, control, clients, stack.move());
  }

  /** Since the start. */
  async counts(): Promise<FlowCounts> {
    const answer = message<ClientsReport>(this.#clients);
    this.#clients.process.send('counts');
    const report = await answer;
    if (report.kind !== 'counts') throw new Error(`the clients: ${JSON.stringify(report)}`);
    return report;
  }

  /** Arguments of a program that watches this Weir. */
  get args(): readonly string[] {
    return ['--config', this.control.file, '--socket', this.weir.controlPath];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

const serverConfig = (dns: number): string =>
  [
    API,
    `[dns]\nbackend = "udp"\nserver = "127.0.0.1:${dns}"\n`,
    socksIn(),
    weirIn(TUNNEL),
    freedom('direct'),
    freedom('tokyo'),
    freedom('osaka'),
    rule('tokyo', 'domain_suffix = ["d1.held.example", "d2.held.example", "d3.short.example"]'),
    rule('osaka', 'domain_suffix = ["d4.held.example", "d5.short.example"]'),
  ].join('');

/** The next message of a child. */
function message<T>(child: Child, patience?: number): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  child.process.once('message', (value) => resolve(value as T));
  void child.exited.then(() => reject(new Error(`${child.name} ended:\n${child.stderr}`)));
  return within(promise, () => `a message of ${child.name}:\n${child.stderr}`, patience);
}
