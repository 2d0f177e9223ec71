import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiServer } from '../../src/api/http/server.ts';
import { lowerApi, type ApiOptions } from '../../../config/src/api.ts';
import type { Logger } from '@weir/base/log';
import { parseAddress } from '../../../../test/support/data/address.ts';
import { ApiClient } from './api-client.ts';
import { FakeApp } from './api-fake.ts';

/** What the API listens on: each suite runs on both. */
export type Carrier = 'tcp' | 'unix';

const located = (value: string) => ({ value, span: { start: 0, end: 0 } });

/** What an `[api]` with these keys asks for. */
export const apiOptions = (listen?: string, secret?: string): ApiOptions =>
  lowerApi({
    listen: listen === undefined ? undefined : located(listen),
    secret: secret === undefined ? undefined : located(secret),
  });

/** Log lines as `level: text`. */
export interface LogLines extends Logger {
  readonly lines: readonly string[];
}

export function logLines(): LogLines {
  const lines: string[] = [];
  const at = (level: string) => (message: string) => void lines.push(`${level}: ${message}`);
  const log: LogLines = {
    lines,
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    trace: at('trace'),
    enabled: () => true,
    target: () => log,
  };
  return log;
}

export interface Served extends AsyncDisposable {
  readonly app: FakeApp;
  readonly server: ApiServer;
  readonly log: LogLines;
  /** With the secret, when there is one. */
  readonly client: ApiClient;
  /** Without it. */
  readonly unauthenticated: ApiClient;
}

/** A place to listen on, of which the kernel or a new folder makes sure that it is free. */
export async function freeListen(carrier: Carrier): Promise<AsyncDisposable & { listen: string }> {
  if (carrier === 'tcp') {
    return { listen: '127.0.0.1:0', [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const folder = await mkdtemp(join(tmpdir(), 'weir-api-'));
  return {
    listen: join(folder, 'api.sock'),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** A running API over a fake app. */
export async function serve(carrier: Carrier, secret?: string): Promise<Served> {
  const place = await freeListen(carrier);
  const app = new FakeApp();
  const log = logLines();
  const server = await ApiServer.start(apiOptions(place.listen, secret), app, log);
  const address = parseAddress(server.address);
  return {
    app,
    server,
    log,
    client: new ApiClient(address, secret),
    unauthenticated: new ApiClient(address),
    [Symbol.asyncDispose]: async () => {
      const stopped = server.stop();
      app.clock.advance(5_000);
      await stopped;
      app.tracker.traffic.stop();
      await place[Symbol.asyncDispose]();
    },
  };
}
