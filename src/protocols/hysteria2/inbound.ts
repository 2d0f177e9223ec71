import { lookup } from 'node:dns/promises';
import { SystemRandomSource, type RandomSource } from '../../crypto/random-source.ts';
import { Http3ErrorCode } from '../../http3/errors.ts';
import { formatEndpoint, type Endpoint } from '../../net/address.ts';
import type { Steps } from '../../net/turns.ts';
import type { ListenSpec } from '../../spec.ts';
import { bindFirst } from '../../transports/bind-first.ts';
import { BindError } from '../../transports/tcp-listener.ts';
import { QuicServerTls } from '../../transports/tls/quic.ts';
import type { ServerTls } from '../../quic/tls-port.ts';
import type { QuicConnection, QuicHandlers } from '../../quic/contract.ts';
import type { InboundContext, SessionBook, SessionListener, SessionServer } from '../contract.ts';
import { Authenticator } from './authentication.ts';
import { Circuits } from './circuits.ts';
import { MasqueradeSite } from './masquerade.ts';
import { bindServer, type BindServer, type ServerEndpoint } from './quic-endpoints.ts';
import { ServerConnection, type ConnectionOwner, type Service } from './server-connection.ts';
import { MOST_UNAUTHENTICATED } from './service-limits.ts';
import type { Hysteria2InboundSettings } from './settings.ts';

/** What a server is made of besides its settings; tests replace it. */
export interface ServerMeans {
  readonly bind: BindServer;
  readonly random: RandomSource;
}
