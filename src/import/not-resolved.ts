/** Why flows to names may be routed differently than by a program that resolves them first. */
export const NOT_RESOLVED =
  'names are not resolved to match rules: `cidr` and `geoip` match addresses alone';

/** The treatment of queries that another program answers itself. */
export const NOT_ANSWERED =
  'Weir answers queries to the addresses of a TUN device alone; others go where other flows go';
