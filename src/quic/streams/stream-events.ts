/** What happened to the streams of a connection. */
export type StreamEvent =
  /** The peer has opened a stream. Streams below it of the same kind have been reported before. */
  | { readonly kind: 'stream-opened'; readonly id: number }
  /** There is something to `read` again after `read` had nothing: bytes or the end. */
  | { readonly kind: 'stream-readable'; readonly id: number }
  /** The queue has drained after `write` returned false. */
  | { readonly kind: 'stream-writable'; readonly id: number }
  /** The peer has reset what it sends (RFC 9000 §19.4); what was not read is dropped. */
  | { readonly kind: 'stream-reset'; readonly id: number; readonly code: number }
  /** The peer wants no more (§19.5): what was queued is dropped, and RESET_STREAM follows. */
  | { readonly kind: 'stream-stopped'; readonly id: number; readonly code: number }
  /** Both directions have ended, and the peer has acknowledged it: the id is forgotten. */
  | { readonly kind: 'stream-closed'; readonly id: number }
  /** `open` may be called again after it returned undefined. */
  | { readonly kind: 'streams-available'; readonly bidirectional: boolean };
