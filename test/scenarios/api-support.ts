import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAddress, type Address } from '../support/data/address.ts';
import { Weir, type WeirOptions } from '../support/process/weir.ts';
import { ApiClient } from '../../packages/server/test/conformance/api-client.ts';
import type { Connections } from '../support/process/control.ts';

/** The line with which the API logs its address. */
const LISTENING = /svc_app: API listening on (\S+)\n/g;

/** An `[api]` on a port that the kernel chooses; `more` is added to the table. */
export const api = (more = ''): string => `[api]\nlisten = "127.0.0.1:0"\n${more}\n`;

/** Every address that the API has logged, in order. */
export const apiAddresses = (weir: Weir): Address[] =>
  Array.from(weir.child.stderr.matchAll(LISTENING), ([, text = '']) => parseAddress(text));

/** A client of the API that has come up as the `count`th, waiting for it when need be. */
export async function apiOf(weir: Weir, secret?: string, count = 1): Promise<ApiClient> {
  const address = await weir.child.until('the API to listen', () => apiAddresses(weir)[count - 1]);
  return new ApiClient(address, secret);
}

/** A running Weir with its API. */
export async function start(
  config: string,
  options?: WeirOptions,
): Promise<AsyncDisposable & { readonly weir: Weir; readonly client: ApiClient }> {
  const weir = await Weir.start(config, options);
  try {
    const client = await apiOf(weir, /^secret = "(.*)"$/m.exec(config)?.[1]);
    return { weir, client, [Symbol.asyncDispose]: () => weir[Symbol.asyncDispose]() };
  } catch (error) {
    await weir[Symbol.asyncDispose]();
    throw error;
  }
}

/** The configuration file of a running Weir. */
export const configFile = (weir: Weir): string => join(weir.folder, 'weir.toml');

export const readConfig = (weir: Weir): Promise<string> => readFile(configFile(weir), 'utf8');

/** Changes the configuration file by hand, as an editor that writes it in place does. */
export async function editConfig(weir: Weir, edit: (text: string) => string): Promise<void> {
  await writeFile(configFile(weir), edit(await readConfig(weir)));
}

/** A line of the log, as soon as it is there. */
export const logged = (weir: Weir, line: RegExp): Promise<string> =>
  weir.child.until(String(line), ({ stderr }) => line.exec(stderr)?.[0]);

export const connections = async (client: ApiClient): Promise<Connections> =>
  (await client.json('GET', '/v1/connections')) as Connections;

export const errorOf = (text: string): string => (JSON.parse(text) as { error: string }).error;
