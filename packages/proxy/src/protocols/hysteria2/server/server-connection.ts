import { fixedRate } from '@weir/congestion';
import type { RandomSource } from '@weir/base/random';
import { asError } from '@weir/base';
import {
  Http3ErrorCode,
  type Http3Request,
  type Http3Response,
  Http3Server,
} from '@weir/http/http3';
import { type Endpoint, unmapIPv4 } from '@weir/io/addresses';
import { BoundedReader } from '@weir/io/links';
import { Deadline, HANDSHAKE_MS, resumedInTurns, type Timer, turnToResume } from '@weir/io/time';
import { DialError } from '@weir/io';
import type { QuicConnection, QuicHandlers, QuicStream } from '@weir/quic';
import { sourceGroup } from '@weir/io/bounds';
import type { InboundContext, OpenSession, Origin, SessionRegistry } from '../../contract.ts';
import { logRejection, RejectedClientError } from '../../inbounds/handshake.ts';
import type { AssociationPlaces, Circuits, WaitingRequests } from './listener-limits.ts';
import type { AccountValidity } from '../../users/accounts.ts';
import { authenticationResponse, isAuthentication, readAuthentication } from '../authentication.ts';
import {
  MOST_WAITING_SESSIONS,
  READER_LIMIT,
  STREAMS_AHEAD_OF_CIRCUITS,
  STREAMS_BESIDE_CIRCUITS,
  STREAMS_STEP,
} from '../limits.ts';
import type { MasqueradeSite } from './masquerade.ts';
import { type UdpSession, UdpSessions } from '../udp-sessions.ts';
import { encodeTcpResponse, parseHostPort, readTcpRequest, TCP_REQUEST } from '../wire.ts';

/** The settings by which an inbound serves its clients. */
export interface Service {
  readonly context: InboundContext;
  /** Returns the label of a credential's user, empty for none; `undefined` for a wrong credential. */
  readonly authenticate: (credential: string) => string | undefined;
  /** Returns the account of a client that was authenticated by this credential. */
  readonly accountOf: (label: string | undefined, credential: string) => AccountValidity;
  readonly site: MasqueradeSite;
  /**
   * Milliseconds after which an idle association is closed; `undefined` when UDP is not relayed.
   */
  readonly udpIdleMs: number | undefined;
}

/** The listener of a connection, as seen by the connection. */
export interface ConnectionOwner {
  /** The service for clients that authenticate from now on. */
  readonly service: Service;
  readonly registry: SessionRegistry;
  readonly circuits: Circuits;
  readonly waiting: WaitingRequests;
  readonly associations: AssociationPlaces;
  readonly random: RandomSource;
  /** Called when the client has authenticated: its session is live from now on. */
  onAuthenticated(connection: ServerConnection): void;
  onEnded(connection: ServerConnection): void;
}

/** An authenticated client. It keeps the service that it started with while its account is valid. */
interface Client {
  readonly service: Service;
  readonly open: OpenSession;
  readonly user: string | undefined;
  readonly account: AccountValidity;
  readonly endWatch: () => void;
  readonly udp: UdpSessions | undefined;
}

/**
 * One client's QUIC connection: a web server, and also a proxy once the client has authenticated.
 */
export class ServerConnection {
  readonly handlers: QuicHandlers;
  /** The number of the connection in its listener. */
  readonly number: number;
  readonly #connection: QuicConnection;
  readonly #owner: ConnectionOwner;
  readonly #http: Http3Server;
  #remote: Endpoint;
  #client: Client | undefined;
  #ended = false;
  #associations = 0;
  /** Sessions that begin in a later turn of the event loop. */
  #waitingSessions = 0;
  /** Streams that were passed to the dispatcher and have not ended. */
  #flows = 0;
  /** The timer that runs while a client that may not wait has no flow. */
  #unusedTimer: Timer | undefined;
  /** Proxy streams of this client, counted in the listener's `Circuits`. */
  #circuits = 0;
  /** Streams that the client may have open. */
  #allowed = 0;

  constructor(connection: QuicConnection, owner: ConnectionOwner, number: number) {
    this.number = number;
    this.#connection = connection;
    this.#owner = owner;
    this.#remote = connection.remote;
    this.#http = new Http3Server(connection, {
      respond: (request) => this.#respond(request),
      takeStream: (type, stream) => this.#takeStream(type, stream),
      onWaiting: (giveUp) => owner.waiting.add(number, giveUp),
    });
    this.handlers = {
      onStream: (stream) => this.#http.accept(stream),
      onDatagram: (data) => this.#client?.udp?.receive(data),
      onStreamClosed: () => this.#endIfUnused(),
      onMigrated: (remote) => this.#onMigrated(remote),
    };
    void connection.closed.then(() => this.#onEnded());
  }

  get isAuthenticated(): boolean {
    return this.#client !== undefined;
  }

  /**
   * Closes the connection with a code after which the client may connect again at once. Idempotent.
   */
  end(): void {
    this.#connection.close(Http3ErrorCode.H3_NO_ERROR);
    this.#onEnded();
  }

  /** Ends the connection if it has neither a stream nor an association. */
  endIfIdle(): void {
    if (this.#associations === 0 && !this.#connection.hasOpenStream) this.end();
  }

  /**
   * Ends the connection of a client whose account was removed, or whose inbound is draining, after its last flow.
   * HANDSHAKE_MS more are allowed for data still being sent, such as refusals: the client's own ends of streams may
   * never arrive.
   */
  #endIfUnused(): void {
    const client = this.#client;
    if (client?.account.mayWait !== false) return;
    this.endIfIdle();
    if (this.#ended || this.#unusedTimer || this.#flows > 0 || this.#associations > 0) return;
    this.#unusedTimer = client.service.context.clock.after(HANDSHAKE_MS, () => {
      this.#unusedTimer = undefined;
      const isOver = this.#flows === 0 && this.#associations === 0;
      if (isOver && !client.account.mayWait) this.end();
    });
  }

  /**
   * Updates the number of streams that an authenticated client may open: STREAMS_AHEAD_OF_CIRCUITS more than
   * its circuits, but at most STREAMS_BESIDE_CIRCUITS more than the listener's limit of circuits,
   * which may have changed.
   */
  allowStreams(): void {
    const steps = Math.ceil(this.#circuits / STREAMS_STEP);
    const allowed = Math.min(
      steps * STREAMS_STEP + STREAMS_AHEAD_OF_CIRCUITS,
      this.#owner.circuits.limit + STREAMS_BESIDE_CIRCUITS,
    );
    if (allowed === this.#allowed) return;
    this.#allowed = allowed;
    this.#connection.allowStreams(allowed);
  }

  #respond(request: Http3Request): Http3Response {
    const response = isAuthentication(request) ? this.#authenticate(request) : undefined;
    return response ?? this.#owner.service.site.respond();
  }

  /** Authenticates a client; `undefined` for a wrong credential, which gets the response of any other request. */
  #authenticate(request: Http3Request): Http3Response | undefined {
    if (this.#ended) return undefined;
    const { auth, receiveRate } = readAuthentication(request);
    const service = this.#client?.service ?? this.#owner.service;
    const isRemoved = this.#client?.account.isValid === false;
    const user = isRemoved ? undefined : service.authenticate(auth);
    if (user === undefined) {
      const error = new RejectedClientError('its credential is wrong');
      logRejection(error, service.context, unmapIPv4(this.#remote.host));
      return undefined;
    }
    this.#client ??= this.#begin(service, user, auth);
    // Without a stated rate, congestion control determines the rate.
    if (receiveRate > 0) this.#connection.useController(fixedRate(receiveRate));
    // A rate of 0 does not limit the client.
    const terms = { udp: service.udpIdleMs !== undefined, receiveRate: 0 };
    return { ...authenticationResponse(terms, this.#owner.random), body: new Uint8Array() };
  }

  #begin(service: Service, user: string, auth: string): Client {
    const { registry, random } = this.#owner;
    const { local, wire } = this.#connection;
    const open = registry.open({ remote: this.#remote, local, wire, destroy: () => this.end() });
    this.#owner.onAuthenticated(this);
    this.#connection.authenticated();
    this.#http.release();
    this.allowStreams();
    const label = user === '' ? undefined : user;
    const account = service.accountOf(label, auth);
    return {
      service,
      open,
      user: label,
      account,
      endWatch: account.watch(() => this.#endIfUnused()),
      udp:
        service.udpIdleMs === undefined
          ? undefined
          : new UdpSessions(this.#connection, random, (session) => this.#takeSession(session)),
    };
  }

  #onMigrated(remote: Endpoint): void {
    this.#remote = remote;
    this.#client?.open.moved(remote);
  }

  #onEnded(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#unusedTimer?.cancel();
    this.#client?.endWatch();
    this.#client?.udp?.close();
    this.#client?.open.close();
    this.#owner.onEnded(this);
  }

  /**
   * Takes a stream that begins with a proxy request; for an unauthenticated client that is an
   * unknown frame.
   */
  #takeStream(type: number, stream: QuicStream): boolean {
    if (type !== TCP_REQUEST || !this.#client) return false;
    const { circuits } = this.#owner;
    if (circuits.open()) {
      this.#circuits++;
      this.allowStreams();
      void this.#serve(stream, this.#client).finally(() => {
        circuits.close();
        this.#circuits--;
        if (this.#ended) return;
        this.allowStreams();
        this.#endIfUnused();
      });
    } else {
      stream.reset(Http3ErrorCode.H3_REQUEST_REJECTED);
      stream.stopSending(Http3ErrorCode.H3_REQUEST_REJECTED);
    }
    return true;
  }

  /** Serves one TCP stream until it ends. Never rejects. */
  async #serve(stream: QuicStream, client: Client): Promise<void> {
    const { dispatcher, sniffing: sniff, clock, log, tag } = client.service.context;
    let isAccepted = false;
    try {
      let address: string;
      {
        using deadline = new Deadline(clock, HANDSHAKE_MS, 'the request');
        const reader = new BoundedReader(stream, READER_LIMIT, deadline.signal);
        // One packet may bring the requests of many streams.
        address = await resumedInTurns(readTcpRequest(reader));
        reader.release();
      }
      const destination = parseHostPort(address);
      if (!destination) {
        await this.#refuse(stream, 'the address is invalid');
        return;
      }
      const origin = this.#originOf(client);
      this.#flows++;
      try {
        await dispatcher.stream({
          origin,
          destination,
          sniff,
          client: stream,
          accept: async () => {
            isAccepted = true;
            const response = { ok: true, message: 'Connected' };
            await stream.write(encodeTcpResponse(response, this.#owner.random));
            return stream;
          },
        });
      } finally {
        this.#flows--;
      }
    } catch (error) {
      if (error instanceof DialError && !isAccepted) {
        await this.#refuse(stream, error.message);
        return;
      }
      log.debug(`inbound ${tag}: a stream ended: ${asError(error).message}`);
      stream.destroy(asError(error));
    }
  }

  /** Sends the reason why a request failed, and stops reading. */
  async #refuse(stream: QuicStream, message: string): Promise<void> {
    try {
      await stream.write(encodeTcpResponse({ ok: false, message }, this.#owner.random));
      await stream.closeWrite();
      stream.stopSending(Http3ErrorCode.H3_NO_ERROR);
    } catch (error) {
      stream.destroy(asError(error));
    }
  }

  #takeSession(session: UdpSession): boolean {
    const { circuits, associations } = this.#owner;
    const client = this.#client;
    if (client?.account.isValid !== true) return false;
    if (this.#waitingSessions >= MOST_WAITING_SESSIONS) return false;
    if (client.service.udpIdleMs === undefined || !circuits.open()) return false;
    const { clock } = client.service.context;
    session.closeWhenIdle(clock, client.service.udpIdleMs);
    const origin = this.#originOf(client);
    associations.take(session, this.number, client.user ?? sourceGroup(this.#remote.host));
    this.#associations++;
    void this.#relay(session, client, origin).finally(() => {
      associations.release(session);
      session.close();
      circuits.close();
      this.#associations--;
      this.#endIfUnused();
    });
    return true;
  }

  /** Relays a session, from a later turn on when many flows begin: one packet may begin dozens of sessions. */
  async #relay(session: UdpSession, client: Client, origin: Origin): Promise<void> {
    const turn = turnToResume();
    if (turn) {
      this.#waitingSessions++;
      await turn;
      this.#waitingSessions--;
    }
    await client.service.context.dispatcher.packets({ origin, client: session });
  }

  #originOf({ service, open, user, account }: Client): Origin {
    const source = unmapIPv4(this.#remote.host);
    return { inbound: service.context.tag, source, user, session: open.session, account };
  }
}
