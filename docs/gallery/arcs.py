"""What each digit of a sum depends on, under plain and under coupled ids."""

import lengthwise as lw

figure = lw.show("addition", length=5).plot()
