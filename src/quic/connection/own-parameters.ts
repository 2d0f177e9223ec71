import type { ConnectionSettings } from './connection-settings.ts';
import type { ConnectionIdentity } from './create-parts.ts';
import { MAX_ACK_DELAY, MAX_RECEIVED_DATAGRAM } from '../limits.ts';
import { ACTIVE_CONNECTION_ID_LIMIT } from '../path/limits.ts';
import { receiveMemory } from '../streams/grants.ts';
import { DEFAULT_STREAM_GRANTS } from '../streams/streams.ts';
import { encodeTransportParameters } from '../wire/transport-parameters.ts';

/** The transport parameters that this side sends (RFC 9000 §18.2). */
export function ownParameters(
  settings: ConnectionSettings,
  identity: ConnectionIdentity,
): Uint8Array {
  const grants = settings.grants ?? DEFAULT_STREAM_GRANTS;
  const isServer = identity.role === 'server';
  return encodeTransportParameters({
    originalDestinationConnectionId: isServer ? identity.originalId : undefined,
    retrySourceConnectionId: isServer ? identity.retrySourceId : undefined,
    statelessResetToken: isServer ? identity.own.resetToken : undefined,
    initialSourceConnectionId: identity.own.id,
    maxIdleTimeout: settings.idleTimeout,
    maxUdpPayloadSize: MAX_RECEIVED_DATAGRAM,
    maxAckDelay: MAX_ACK_DELAY,
    activeConnectionIdLimit: ACTIVE_CONNECTION_ID_LIMIT,
    initialMaxData: receiveMemory(grants, !settings.authenticates).window,
    initialMaxStreamDataBidiLocal: grants.streamWindow,
    initialMaxStreamDataBidiRemote: grants.streamWindow,
    initialMaxStreamDataUni: grants.streamWindow,
    initialMaxStreamsBidi: grants.bidirectionalStreams,
    initialMaxStreamsUni: grants.unidirectionalStreams,
    maxDatagramFrameSize: settings.maxDatagramFrameSize,
  });
}
