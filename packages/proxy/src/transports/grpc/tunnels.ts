import type { Clock } from '@weir/io/time';
import type { WireCounter } from '@weir/io/links';
import type { Http2Driver, Http2Stream } from '@weir/http/http2';
import type { HttpField } from '@weir/http/fields';
import { GrpcLink } from './link.ts';
import { StreamWindow } from './settings.ts';
import { PeerWatch } from './peer-watch.ts';
import { WireShare } from './wire-share.ts';

export interface TunnelsOptions {
  readonly clock: Clock;
  /** The trailers that a server sends after the last message of a tunnel; `undefined` at a client. */
  readonly trailers: readonly HttpField[] | undefined;
  /** Called whenever the last tunnel is released. */
  readonly onEmpty: () => void;
}

/** The tunnels of one connection, with its stream window, its byte counter and its watch. */
export class Tunnels {
  readonly watch: PeerWatch;
  readonly #options: TunnelsOptions;
  readonly #share: WireShare;
  readonly #window: StreamWindow;
  #count = 0;

  /** @param wire the byte counter of the connection. */
  constructor(driver: Http2Driver, wire: WireCounter, options: TunnelsOptions) {
    this.watch = new PeerWatch(driver, options.clock);
    this.#options = options;
    this.#share = new WireShare(wire);
    // A server limits the tunnels that its clients open.
    this.#window = new StreamWindow(driver.connection, options.trailers !== undefined);
  }

  /** Called when a client has authenticated: it may open more tunnels. */
  prove(): void {
    this.#window.prove();
  }

  get count(): number {
    return this.#count;
  }

  /** Creates a tunnel that takes ownership of a stream. */
  add(
    stream: Http2Stream,
    onSettled: (wasRefused: boolean) => void = () => undefined,
  ): { readonly link: GrpcLink; readonly wire: WireCounter } {
    const { clock, trailers, onEmpty } = this.#options;
    const wire = this.#share.join();
    this.#window.adjust(++this.#count);
    const link = new GrpcLink(stream, {
      clock,
      meter: wire,
      trailers,
      onSettled,
      onReleased: () => {
        wire.leave();
        this.#window.adjust(--this.#count);
        if (this.#count === 0) onEmpty();
      },
    });
    return { link, wire };
  }
}
