import type { Http2Session, Http2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock } from '../../net/clock.ts';
import type { WireCounter } from '../../net/link.ts';
import { GrpcLink } from './link.ts';
import { StreamWindow } from './stream-window.ts';
import { Watch } from './watch.ts';
import { WireShare } from './wire-share.ts';

export interface TunnelsOptions {
  readonly clock: Clock;
  /** Whether it is the peer that opens tunnels. */
  readonly limitsTunnels: boolean;
  /** Told whenever the last tunnel has left. */
  readonly onEmpty: () => void;
}

/** The tunnels of one connection, and what they have in common: its window, its bytes, its watch. */
export class Tunnels {
  readonly watch: Watch;
  readonly #clock: Clock;
  readonly #share: WireShare;
  readonly #window: StreamWindow;
  readonly #onEmpty: () => void;
  #count = 0;

  /** @param raw the kernel socket below the session. */
  constructor(
    session: Http2Session,
    raw: Socket,
    { clock, limitsTunnels, onEmpty }: TunnelsOptions,
  ) {
    this.watch = new Watch(session, raw, clock);
    this.#clock = clock;
    this.#share = new WireShare(raw);
    this.#window = new StreamWindow(session, limitsTunnels);
    this.#onEmpty = onEmpty;
  }

  /** How many there are. */
  get count(): number {
    return this.#count;
  }

  /** Makes a tunnel of a stream, which is its own from now on. */
  add(stream: Http2Stream): { readonly link: GrpcLink; readonly wire: WireCounter } {
    const wire = this.#share.join();
    const link = new GrpcLink(stream, this.#clock, wire);
    stream.on('data', this.watch.look);
    this.#window.fit(++this.#count);
    // Not when its stream has closed, which may never be.
    void link.released.then(() => {
      wire.leave();
      this.#window.fit(--this.#count);
      if (this.#count === 0) this.#onEmpty();
    });
    return { link, wire };
  }
}
