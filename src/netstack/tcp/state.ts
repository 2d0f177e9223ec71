/** The states of RFC 9293 §3.3.2. */
export type TcpState =
  | 'LISTEN'
  | 'SYN-SENT'
  | 'SYN-RECEIVED'
  | 'ESTABLISHED'
  | 'FIN-WAIT-1'
  | 'FIN-WAIT-2'
  | 'CLOSE-WAIT'
  | 'CLOSING'
  | 'LAST-ACK'
  | 'TIME-WAIT'
  | 'CLOSED';

const NEXT: Readonly<Record<TcpState, readonly TcpState[]>> = {
  LISTEN: ['SYN-RECEIVED', 'CLOSED'],
  'SYN-SENT': ['SYN-RECEIVED', 'ESTABLISHED', 'CLOSED'],
  'SYN-RECEIVED': ['ESTABLISHED', 'FIN-WAIT-1', 'CLOSED'],
  ESTABLISHED: ['FIN-WAIT-1', 'CLOSE-WAIT', 'CLOSED'],
  'FIN-WAIT-1': ['FIN-WAIT-2', 'CLOSING', 'TIME-WAIT', 'CLOSED'],
  'FIN-WAIT-2': ['TIME-WAIT', 'CLOSED'],
  'CLOSE-WAIT': ['LAST-ACK', 'CLOSED'],
  CLOSING: ['TIME-WAIT', 'CLOSED'],
  'LAST-ACK': ['CLOSED'],
  'TIME-WAIT': ['CLOSED'],
  CLOSED: [],
};

/** Whether RFC 9293 §3.3.2 (figure 5) has this transition. */
export const mayGo = (from: TcpState, to: TcpState): boolean => NEXT[from].includes(to);
