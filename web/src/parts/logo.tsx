// The mark of Sonde.
export const Logo = () => (
  <svg viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="7" fill="var(--accent)" />
    <path
      d="M5 18h5l3-9 5 15 3.5-9H27"
      fill="none"
      stroke="var(--on-accent)"
      stroke-width="2.6"
      stroke-linecap="round"
      stroke-linejoin="round"
    />
  </svg>
);
