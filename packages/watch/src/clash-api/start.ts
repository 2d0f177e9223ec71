import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { LocalServer, type LocalListen } from '@weir/server/local-http';
import type { Monitor } from '@weir/client/monitor';
import { systemClock } from '@weir/io/time';
import { loadForms } from '@weir/proxy/protocols';
import { DelayTester, FollowedOutbounds, DelayHistory } from './delays.ts';
import { FactReader, type WatchedWeir } from './fact-reader.ts';
import { LeasedMonitor } from './leased-monitor.ts';
import { ClashAccess, Controller } from './serve/controller.ts';
import { StaticFiles } from './serve/static-files.ts';
import { SharedSnapshots } from './streams/shared-snapshots.ts';

export interface ClashApiOptions {
  readonly listen: LocalListen;
  readonly weir: WatchedWeir;
  readonly monitor: Monitor;
  /** `undefined` for no secret, which is safe only where no other user can connect. */
  readonly secret: string | undefined;
  /** Origins of pages that may use the controller. */
  readonly origins: readonly string[];
  /** Directory of a dashboard's files. */
  readonly ui: string | undefined;
  readonly updateSubscription: (name: string) => Promise<void>;
  /** Called with the reason why something cannot be shown. */
  readonly note: (text: string) => void;
  readonly onDefect: (error: unknown) => void;
}

/** The running adapter. */
export interface ServedClashApi extends AsyncDisposable {
  /** `http://127.0.0.1:9097`; `undefined` for a unix socket. */
  readonly url: string | undefined;
  readonly address: string;
}

/**
 * Serves a running Weir through the interface of mihomo's external controller.
 * @throws {BindError}
 */
export async function startClashApi(options: ClashApiOptions): Promise<ServedClashApi> {
  const { weir, note, monitor, updateSubscription, onDefect } = options;
  await loadForms();
  const now = (): number => systemClock.wall();
  const access = new ClashAccess(
    options.secret,
    new Set(options.origins.map((origin) => origin.toLowerCase())),
  );
  const files = options.ui === undefined ? undefined : await StaticFiles.of(options.ui);
  const delays = new DelayHistory(now);
  const flows = new FollowedOutbounds(weir);
  const live = new LeasedMonitor(monitor);
  const facts = new FactReader({ weir, note, now });
  const controller = new Controller({
    access,
    files,
    context: {
      weir,
      live,
      delays,
      updateSubscription,
      facts,
      snapshots: new SharedSnapshots(live, facts, systemClock),
      tester: new DelayTester(flows, systemClock, delays),
    },
  });
  const server = await LocalServer.start({
    listen: options.listen,
    origins: access.origins,
    headers: { 'X-Content-Type-Options': 'nosniff' },
    serve: (exchange) => controller.serve(exchange),
    upgrade: (request: IncomingMessage, stream: Duplex, head: Buffer, trust: () => void) => {
      controller.upgrade(request, stream, head, trust).catch(onDefect);
    },
    errorBody: ({ message }) => ({ message }),
    onDefect,
  });
  return {
    url: server.url,
    address: server.address,
    [Symbol.asyncDispose]: async () => {
      live[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
      await flows[Symbol.asyncDispose]();
    },
  };
}
