import type { Socket } from 'node:net';
import { messageOf } from '@weir/base';
import {
  BoundedSink,
  parseFilter,
  passes,
  type LogFilter,
  type WrittenLine,
  type RecentLines,
} from '@weir/base/log';
import { LIVE_LINE, loggedLine, lostLine, refusedLine, toLogRequest } from './messages.ts';

/** Maximum number of followers. */
export const MAX_FOLLOWERS = 16;

/** Maximum bytes that wait for a follower. The latest lines fit into it, even if all of them have to be escaped. */
export const MAX_BACKLOG = 1 << 20;

/** Milliseconds to wait for a client to read the end of its response. */
const END_MS = 5_000;

interface Follower {
  readonly filter: LogFilter | undefined;
  readonly sink: BoundedSink;
}

/**
 * Clients of the control socket that follow the log. Logging never waits for them: lines that do not fit into the
 * backlog of a client are lost for that client, counted, and reported in their place.
 */
export class LogFollowers {
  readonly #recent: RecentLines;
  readonly #followers = new Set<Follower>();
  /** Number of lines lost by former followers that were too slow. */
  #lost = 0;

  constructor(recent: RecentLines) {
    this.#recent = recent;
  }

  /** Number of lines lost by followers that were too slow, since the start. */
  get lost(): number {
    let lost = this.#lost;
    for (const { sink } of this.#followers) lost += sink.lost;
    return lost;
  }

  /** Serves one client until it disconnects. */
  serve(asked: unknown, client: Socket): void {
    const request = toLogRequest(asked);
    if (!request) return refuse(client, 'expected {"filter":FILTER,"tail":BOOL,"follow":BOOL}');
    const { filter: wanted, tail = false, follow = true } = request;
    let filter: LogFilter | undefined;
    try {
      filter = wanted === undefined ? undefined : parseFilter(wanted);
    } catch (error) {
      return refuse(client, messageOf(error));
    }
    if (follow && this.#followers.size >= MAX_FOLLOWERS) {
      return refuse(client, `${MAX_FOLLOWERS} clients follow the log already`);
    }
    const lines = tail ? this.#recent.latest().filter((line) => isWanted(line, filter)) : [];
    const start = `${lines.map(loggedLine).join('')}${LIVE_LINE}`;
    if (follow) this.#follow(client, filter, start);
    else end(client, start);
  }

  #follow(client: Socket, filter: LogFilter | undefined, start: string): void {
    // A write fails when the client has disconnected: lines that it did not wait for are not lost by slowness.
    const write = (bytes: string, done: () => void): void => void client.write(bytes, () => done());
    const sink = new BoundedSink({ terminal: false, write }, lostLine, MAX_BACKLOG);
    const follower: Follower = { filter, sink };
    this.#followers.add(follower);
    client.once('close', () => this.#leave(follower));
    sink.write(start);
    this.#recent.reader = this.#pass;
  }

  #leave(follower: Follower): void {
    this.#followers.delete(follower);
    this.#lost += follower.sink.lost;
    if (this.#followers.size === 0) this.#recent.reader = undefined;
  }

  readonly #pass = (line: WrittenLine): void => {
    let text: string | undefined;
    for (const { filter, sink } of this.#followers) {
      if (isWanted(line, filter)) sink.write((text ??= loggedLine(line)));
    }
  };
}

const isWanted = ({ level, target }: WrittenLine, filter: LogFilter | undefined): boolean =>
  filter === undefined || passes(filter, target, level);

const refuse = (client: Socket, reason: string): void => end(client, refusedLine(reason));

function end(client: Socket, text: string): void {
  client.setTimeout(END_MS, () => client.destroy());
  client.end(text);
}
