import { resolve } from 'node:path';
import { requestStatus } from '../app/control/control-client.ts';
import type { RunningStatus } from '../app/control/running-status.ts';
import { DEFAULT_API_LISTEN } from '../config/api.ts';
import { decodeSource } from '../config/sources/decode-source.ts';
import { readApiTable, readConfigFile } from '../config/sources/read-tables.ts';
import { withShownKeys } from '../config/sources/with-shown-keys.ts';
import { UsageError, WeirError, messageOf } from '../errors.ts';
import { isLoopbackHost } from '../ip/loopback-host.ts';
import { openRegularFile } from '../platform/regular-file.ts';
import { ApiClient, parsePlace, readSecret, type ApiPlace } from './api-client.ts';
import { chooseSocket } from './choose-socket.ts';

/** Values of the options of programs that watch a running Weir. */
export interface RunningSearch {
  /** `--api`. */
  readonly api?: string | undefined;
  /** `--config`. */
  readonly config?: string | undefined;
  /** `--socket`. */
  readonly socket?: string | undefined;
  /** `--secret-file`. */
  readonly secretFile?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For tests: the folder of sockets of services. */
  readonly serviceFolder?: string;
}

/** A running Weir, or where one should be. Its properties follow it when it is found anew. */
export class RunningWeir {
  readonly #search: RunningSearch;
  #found: Found;
  /** For the API where it was found the last time. */
  readonly api: ApiClient;

  /** @internal for `findRunning` */
  constructor(search: RunningSearch, found: Found) {
    this.#search = search;
    this.#found = found;
    this.api = new ApiClient(found.place, found.secret);
  }

  get place(): ApiPlace {
    return this.#found.place;
  }

  /** The path of its control socket; `undefined` if there is none. */
  get socket(): string | undefined {
    return this.#found.socket;
  }

  /** Absolute path of its configuration file; `undefined` for the built-in one, or where it is not known. */
  get config(): string | undefined {
    return this.#found.config;
  }

  /** Why the configuration file could not be read: the secret of its API is then not known. */
  get problem(): WeirError | undefined {
    return this.#found.problem;
  }

  /**
   * Looks again: a Weir that was started anew has another control socket, and a reload may have given the API
   * another address or secret. What is not found now stays as it was.
   *
   * @throws {WeirError} as `findRunning`
   */
  async findAgain(): Promise<void> {
    const found = await find(this.#search, this.#found);
    this.#found = { ...found, socket: found.socket ?? this.#found.socket };
    this.api.moveTo(found.place, found.secret);
  }
}

interface Found {
  readonly place: ApiPlace;
  readonly secret: string | undefined;
  readonly socket: string | undefined;
  readonly config: string | undefined;
  readonly problem: WeirError | undefined;
}

/**
 * Finds the running Weir that a program is to watch. Nothing has to run yet.
 *
 * - The control socket: `--socket`, `WEIR_SOCKET`, the one of the process that serves `--config`, or the only one.
 * - The configuration file: `--config`, or the one that the process serves.
 * - The API: `--api`, `WEIR_API`, what the process says, `[api] listen` of the file, or the default of `[api]`.
 * - Its secret: `--secret-file`, or `[api] secret` of the file. An `--api` on another host gets only that of `--config`.
 *
 * @throws {UsageError} for an option that is empty or no address
 * @throws {WeirError} when several processes are found, or the file of the secret cannot be read
 */
export const findRunning = async (search: RunningSearch): Promise<RunningWeir> =>
  new RunningWeir(search, await find(search));

/** @param before what was found the last time */
async function find(search: RunningSearch, before?: Found): Promise<Found> {
  const { env } = search;
  if (search.config === '') throw new UsageError('--config needs the name of a file');
  if (search.api === '') throw new UsageError('--api needs an address');
  const socket = await chooseSocket({ ...search, socket: search.socket }, search.config);
  const status = socket === undefined ? undefined : await statusAt(socket);
  const config =
    search.config === undefined ? (status?.config ?? before?.config) : resolve(search.config);
  const { table, problem } = await readApi(config);
  const named = search.api ?? (env['WEIR_API'] || undefined);
  const text = named ?? status?.api ?? table?.listen;
  // While no process is found, the API is where it was.
  const standard = status ? undefined : before?.place;
  const place = text === undefined && standard ? standard : parsePlace(text ?? DEFAULT_API_LISTEN);
  // What nothing but the search has found is no secret for another host.
  const isKnown = named === undefined || search.config !== undefined || isOnThisHost(place);
  const written = isKnown ? table?.secret : undefined;
  const secret = search.secretFile === undefined ? written : await readSecret(search.secretFile);
  return { place, secret, socket, config, problem };
}

/** `undefined` for a process that does not respond, which may be starting. */
async function statusAt(socket: string): Promise<RunningStatus | undefined> {
  try {
    return await requestStatus(socket);
  } catch (error) {
    if (error instanceof WeirError) return undefined;
    throw error;
  }
}

const isOnThisHost = (place: ApiPlace): boolean =>
  place.kind === 'unix' || isLoopbackHost(place.url.hostname);

interface ApiAsWritten {
  readonly listen: string | undefined;
  readonly secret: string | undefined;
}

/** `[api]` of a configuration file. */
async function readApi(config: string | undefined): Promise<{
  readonly table?: ApiAsWritten;
  readonly problem: WeirError | undefined;
}> {
  if (config === undefined) return { problem: undefined };
  try {
    await using file = await openRegularFile(config);
    const source = decodeSource(await file.readFile(), config);
    const { api } = await withShownKeys(() => readConfigFile(source));
    if (!api) return { problem: undefined };
    const { listen, secret } = readApiTable(api, source);
    return { table: { listen: listen?.value, secret: secret?.value }, problem: undefined };
  } catch (error) {
    const problem = new WeirError('config', `cannot read ${config}: ${messageOf(error)}`, {
      cause: error,
    });
    return { problem };
  }
}
