"""What any long work needs: seeds, threads, memory, progress, whole files, locks, fingerprints, values, checkpoints."""
