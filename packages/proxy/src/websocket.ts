/** Frames and handshakes of WebSocket. */
export { CloseCode, closePayload } from './transports/ws/close-codes.ts';
export { frameHeader, Opcode, WsFrameDecoder } from './transports/ws/frames.ts';
