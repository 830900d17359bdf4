// Marks calls whose results are simulated: see `docs/simulation.md`.

/** The tag of calls whose results are generated. */
export const SIMULATED_TAG = "sonde-simulated";

/** The region of locations whose results are generated. */
export const SIMULATED_REGION = "Simulated";
