"""Running nvcc: its plan, its two passes side by side, what it reports. The door is `hands.build`."""
