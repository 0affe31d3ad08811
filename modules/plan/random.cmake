# random/: counter-based draws, indexed by the global element.
cpize_port(philox  SUBSYSTEM random  KIND new  EFFORT 6
           RISK medium "the last bit of a normal draw, on a CPU and on a GPU"
           CITES "Salmon et al. 2011, Philox4x32-10")
