import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { requestStatus, type RunningStatus } from '@weir/server/control';
import { DEFAULT_API_LISTEN } from '@weir/config';
import { decodeSource, readApiTable, readConfigFile, withShownKeys } from '@weir/config/documents';
import { UsageError, WeirError, messageOf } from '@weir/base';
import { isLoopbackHost } from '@weir/base/ip';
import { fileReason, openRegularFile } from '@weir/io/files';
import { ApiClient, parsePlace, readSecret, type ApiAccess, type ApiPlace } from './api-client.ts';
import { chooseSocket, namedSocket } from './find-serving.ts';
import type { ApiProof } from './proven-agent.ts';

/** Options of programs that watch a running Weir. */
export interface RunningSearch {
  /** The value of `--api`. */
  readonly api?: string | undefined;
  /** The value of `--config`. */
  readonly config?: string | undefined;
  /** The value of `--socket`. */
  readonly socket?: string | undefined;
  /** The value of `--secret-file`. */
  readonly secretFile?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The directory of sockets of services; replaced in tests. */
  readonly serviceFolder?: string;
}

/** A running Weir, or the places where one is expected. Its properties change when `findAgain` finds it elsewhere. */
export class RunningWeir {
  readonly #search: RunningSearch;
  #found: Found;
  /** A client of the API at its last known address. */
  readonly api: ApiClient;

  /** @internal for `findRunning` */
  constructor(search: RunningSearch, found: Found) {
    this.#search = search;
    this.#found = found;
    this.api = new ApiClient(found.place, found.secret, found.proof);
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

  /** Why the API's address or secret is not known; `undefined` if both are. */
  get problem(): WeirError | undefined {
    const { problem, place } = this.#found;
    return problem ?? (place.kind === 'unknown' ? place.reason : undefined);
  }

  /**
   * Repeats the search: a restarted Weir has another control socket, and a reload may have changed the address or the
   * secret of the API. Whatever is not found keeps its previous value.
   *
   * @throws {WeirError} as `findRunning`
   */
  async findAgain(): Promise<void> {
    const found = await find(this.#search, this.#found);
    this.#found = { ...found, socket: found.socket ?? this.#found.socket };
    this.api.moveTo(found);
  }
}

interface Found extends ApiAccess {
  readonly socket: string | undefined;
  readonly config: string | undefined;
  readonly problem: WeirError | undefined;
}

/**
 * Finds the running Weir that a program is to watch. It need not be running yet.
 *
 * - The control socket: `--socket`, `WEIR_SOCKET`, that of the process that serves `--config`, or the only one.
 * - The configuration file: `--config`, or the one that the process serves.
 * - The API: `--api`, `WEIR_API`, the address that the process reports, `[api] listen` of the file. The default of
 *   `[api]` counts only if nothing was named and nothing is found: where a named socket or file is missing, the address
 *   is unknown.
 * - The secret: `--secret-file`, or `[api] secret` of the file. An `--api` on another host gets only that of
 *   `--config`. At an address that was not named, the secret is sent only to a process of root, of this user, or of the
 *   owner of the file or of the control socket.
 *
 * @throws {UsageError} for an option that is empty or not an address
 * @throws {WeirError} when several processes are found, or a named file cannot be read
 */
export const findRunning = async (search: RunningSearch): Promise<RunningWeir> =>
  new RunningWeir(search, await find(search));

/** @param before the result of the previous search */
async function find(search: RunningSearch, before?: Found): Promise<Found> {
  const { env } = search;
  if (search.config === '') throw new UsageError('--config needs the name of a file');
  if (search.api === '') throw new UsageError('--api needs an address');
  const socket = await chooseSocket({ ...search, socket: search.socket }, search.config);
  const asked = socket === undefined ? undefined : await statusAt(socket);
  const status = asked?.status;
  const config =
    search.config === undefined ? (status?.config ?? before?.config) : resolve(search.config);
  const { table, owner, problem, isRead } = await readApi(config);
  if (search.config !== undefined && !status && !isRead && problem) throw problem;
  const named = search.api ?? (env['WEIR_API'] || undefined);
  const text = named ?? status?.api ?? undefined;
  const place =
    text === undefined
      ? placeWithout({ search, socket, asked, config, table, problem, before })
      : parsePlace(text);
  // A secret found only by searching must not be sent to another host.
  const isKnown = named === undefined || search.config !== undefined || isOnThisHost(place);
  const written = isKnown ? table?.secret : undefined;
  const { secretFile } = search;
  const secret = secretFile === undefined ? written : await readSecret(secretFile, '--secret-file');
  const proof =
    named === undefined
      ? proofFor({
          socket,
          status,
          owner,
          secretFile: secretFile ?? config,
          before: before?.proof,
        })
      : undefined;
  return { place, secret, proof, socket, config, problem };
}

/** The facts from which the API of a Weir is derived that was not named and does not report its address. */
interface Clues {
  readonly search: RunningSearch;
  readonly socket: string | undefined;
  readonly asked: AskedStatus | undefined;
  readonly config: string | undefined;
  readonly table: ApiAsWritten | undefined;
  readonly problem: WeirError | undefined;
  readonly before: Found | undefined;
}

function placeWithout({ search, socket, asked, config, table, problem, before }: Clues): ApiPlace {
  if (asked?.status) {
    const { pid } = asked.status;
    return table
      ? unknown(
          `the API of the running Weir (pid ${pid}) is off`,
          'its log says why; a new [api] takes a reload',
        )
      : unknown(
          `the running Weir (pid ${pid}) has no API: its configuration has no [api]: add it, and reload`,
        );
  }
  // While no process is found, the API keeps its previous address.
  if (before && before.place.kind !== 'unknown') return before.place;
  if (namedSocket({ socket: search.socket, env: search.env }) !== undefined) {
    const name = search.socket === undefined ? 'WEIR_SOCKET' : '--socket';
    const reason = messageOf(asked?.error?.cause ?? asked?.error);
    return unknown(
      `there is no running Weir on ${socket}, which ${name} names: ${reason}`,
      asked?.error?.hint,
    );
  }
  if (table) return parsePlace(table.listen ?? DEFAULT_API_LISTEN);
  if (problem) return { kind: 'unknown', reason: problem };
  if (config !== undefined) {
    return unknown(`the configuration ${config} has no [api]: add it, and start or reload Weir`);
  }
  return parsePlace(DEFAULT_API_LISTEN);
}

const unknown = (message: string, hint?: string): ApiPlace => ({
  kind: 'unknown',
  reason: new WeirError('no_api', message, { hint }),
});

interface AskedStatus {
  readonly status?: RunningStatus;
  readonly error?: WeirError;
}

/** Requests the status; it is missing for a process that does not respond, which may be starting. */
async function statusAt(socket: string): Promise<AskedStatus> {
  try {
    return { status: await requestStatus(socket) };
  } catch (error) {
    if (error instanceof WeirError) return { error };
    throw error;
  }
}

/**
 * Proof for an address that was not named. Its socket may belong to root, this user, the owner of the configuration
 * file, the owner of the control socket (which the user has named, or chooseSocket has found trustworthy), and the
 * group of the secret's file.
 */
function proofFor({
  socket,
  status,
  owner,
  secretFile,
  before,
}: {
  readonly socket: string | undefined;
  readonly status: RunningStatus | undefined;
  readonly owner: number | undefined;
  readonly secretFile: string | undefined;
  readonly before: ApiProof | undefined;
}): ApiProof {
  const own = process.geteuid?.();
  const serving = status && socket !== undefined ? ownerOf(socket) : undefined;
  const found = [0, own, owner, serving].filter((uid) => uid !== undefined);
  return {
    owners: new Set([...found, ...(before?.owners ?? [])]),
    secretFile,
    isConfirmed: async () => {
      if (socket === undefined || !status) return false;
      const { status: now } = await statusAt(socket);
      return now?.started_at === status.started_at && now.api === status.api;
    },
  };
}

function ownerOf(path: string): number | undefined {
  try {
    return statSync(path).uid;
  } catch {
    return undefined;
  }
}

const isOnThisHost = (place: ApiPlace): boolean =>
  place.kind !== 'url' || isLoopbackHost(place.url.hostname);

interface ApiAsWritten {
  readonly listen: string | undefined;
  readonly secret: string | undefined;
}

interface ReadApi {
  /** `undefined` without the table, or without the file. */
  readonly table?: ApiAsWritten;
  /** User id of the file's owner. */
  readonly owner?: number;
  readonly problem?: WeirError;
  /** Whether the file exists and could be read, valid or not. */
  readonly isRead: boolean;
}

/** Reads `[api]` of a configuration file. */
async function readApi(config: string | undefined): Promise<ReadApi> {
  if (config === undefined) return { isRead: false };
  let isRead = false;
  try {
    await using file = await openRegularFile(config);
    const { uid: owner } = await file.stat();
    const bytes = await file.readFile();
    isRead = true;
    const source = decodeSource(bytes, config);
    const { api } = await withShownKeys(() => readConfigFile(source));
    if (!api) return { owner, isRead };
    const { listen, secret } = readApiTable(api, source);
    return { table: { listen: listen?.value, secret: secret?.value }, owner, isRead };
  } catch (error) {
    const problem = new WeirError('config', `cannot read ${config}: ${fileReason(error)}`, {
      cause: error,
    });
    return { problem, isRead };
  }
}
