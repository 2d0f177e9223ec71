import type { TcpSegment } from '../wire/tcp.ts';

/** The RST that the next `transmit` sends, if one is due. */
export class PendingReset {
  isDue = false;
  sequence = 0;
  /** SEG.ACK of the RST; `undefined` for a RST without the ACK flag. */
  acknowledgment: number | undefined;

  /** Sets <SEQ=SEG.ACK><CTL=RST>: the segment acknowledges data that was never sent. */
  inReplyTo(segment: TcpSegment): void {
    this.isDue = true;
    this.sequence = segment.acknowledgment;
    this.acknowledgment = undefined;
  }

  /** Sets <SEQ=SND.NXT><ACK=RCV.NXT><CTL=RST,ACK>: this side ends the connection. */
  toPeer(sequence: number, acknowledgment: number): void {
    this.isDue = true;
    this.sequence = sequence;
    this.acknowledgment = acknowledgment;
  }

  onSent(): void {
    this.isDue = false;
  }
}
